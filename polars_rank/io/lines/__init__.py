"""Text with a document in each line: TREC's, and svmlight's with query ids.

Files are read in blocks of whole lines, which Polars parses; a line that does not fit
is named. The room imports the files of ``io`` that find and open files.
"""
