"""Identifiers of papers, each found on a public page that names the paper.

A source that is not here has none, or none that could be looked up.
"""

from __future__ import annotations

DOIS = {  # as a docstring names the paper
    "Jarvelin and Kekalainen, TOIS 2002": "10.1145/582415.582418",
    "Chapelle, Metzler, Zhang and Grinspan, CIKM 2009": "10.1145/1645953.1646033",
    "Chapelle et al., CIKM 2009": "10.1145/1645953.1646033",
    "Moffat and Zobel, TOIS 2008": "10.1145/1416950.1416952",
    "Webber, Moffat and Zobel, TOIS 2010": "10.1145/1852102.1852106",
    "Corsi and Urbano, SIGIR 2024": "10.1145/3626772.3657700",
    "Buckley and Voorhees, SIGIR 2004": "10.1145/1008992.1009000",
    "Yilmaz and Aslam, CIKM 2006": "10.1145/1183614.1183633",
    "Clarke et al., SIGIR 2008": "10.1145/1390334.1390446",
    "Clarke, Kolla and Vechtomova, ICTIR 2009": "10.1007/978-3-642-04417-5_17",
    "Agrawal, Gollapudi, Halverson and Ieong, WSDM 2009": "10.1145/1498759.1498766",
    "Zhai, Cohen and Lafferty, SIGIR 2003": "10.1145/860435.860440",
    "Yilmaz, Aslam and Robertson, SIGIR 2008": "10.1145/1390334.1390435",
    "Urbano and Marrero, ICTIR 2017": "10.1145/3121050.3121106",
    "Vigna, WWW 2015": "10.1145/2736277.2741088",
    "Kendall, Biometrika 1938": "10.1093/biomet/30.1-2.81",
    "Fagin, Kumar and Sivakumar, SIAM J. Discrete Math. 2003": (
        "10.1137/S0895480102412856"
    ),
    "Clarke, Vtyurina and Smucker, TOIS 2021": "10.1145/3451161",
    "Moffat et al., TOIS 2017": "10.1145/3052768",
    "Moffat, Scholer and Thomas, ADCS 2012": "10.1145/2407085.2407092",
    "Moffat, Bailey, Scholer and Thomas, ADCS 2015": "10.1145/2838931.2838938",
    "Azzopardi, Mackenzie and Moffat, ICTIR 2021": "10.1145/3471158.3472239",
    "Zhang, Liu, Li, Zhang, Xu and Ma, SIGIR 2017": "10.1145/3077136.3080841",
    "Xia, Liu, Wang, Zhang and Li, ICML 2008": "10.1145/1390156.1390306",
    "Radlinski, Kurup and Joachims, CIKM 2008": "10.1145/1458082.1458092",
    "Vargas and Castells, RecSys 2011": "10.1145/2043932.2043955",
    "Zhou et al., PNAS 107, 2010": "10.1073/pnas.1000488107",
    "Steck, RecSys 2018": "10.1145/3240323.3240372",
    "Ziegler, McNee, Konstan and Lausen, WWW 2005": "10.1145/1060745.1060754",
    "Ge, Delgado-Battenfeld and Jannach, RecSys 2010": "10.1145/1864708.1864761",
    "Sapiezynski, Zeng, Robertson, Mislove and Wilson, WWW 2019": (
        "10.1145/3308560.3317595"
    ),
    "Hill, Ecology 54, 1973": "10.2307/1934352",
    "Shannon, 1948": "10.1002/j.1538-7305.1948.tb01338.x",
    "Joachims, KDD 2002": "10.1145/775047.775067",
    "Joachims et al., WSDM 2017": "10.1145/3018661.3018699",
    'Pasumarthi et al., "TF-Ranking", KDD 2019': "10.1145/3292500.3330677",
    "Matthews, 1975": "10.1016/0005-2795(75)90109-9",
    "Sokolova and Lapalme, 2009": "10.1016/j.ipm.2009.03.002",
    "Mann and Whitney, 1947": "10.1214/aoms/1177730491",
    "Clarke et al., WSDM 2011": "10.1145/1935826.1935847",
    "Hanley and McNeil, Radiology 1982": "10.1148/radiology.143.1.7063747",
    "Zhou et al., KDD 2018": "10.1145/3219819.3219823",
    "McSherry and Najork, ECIR 2008": "10.1007/978-3-540-78646-7_38",
    "McSherry and Najork 2008": "10.1007/978-3-540-78646-7_38",
}


def linked(fact: str) -> str:
    """A fact in which the papers that it names lead to their publisher."""
    if fact.startswith("- **Source:**"):
        for paper, doi in DOIS.items():
            if f"[{paper}" not in fact:
                fact = fact.replace(paper, f"[{paper}](https://doi.org/{doi})")
    return fact
