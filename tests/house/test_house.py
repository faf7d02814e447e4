"""The house keeps its order: layers, one row everywhere, light imports."""

from __future__ import annotations

import ast
import builtins
import inspect
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

import polars as pl
import pytest
import reference
from cases import CASES, FACTS, FAMILIES, SUBTOPIC_CASES, where
from mutants import MUTANTS, ROOT, file_of_tests, found
from random_mutants import changes
from variants import variants
from vocabularies import METRICS, SUBTOPIC_METRICS

import polars_rank
import polars_rank.typing
from polars_rank._engine.options import RequestOptions
from polars_rank._engine.roles import ROLES
from polars_rank.cli.app import options as options_of
from polars_rank.cli.commands.evaluate import evaluate as evaluate_files
from polars_rank.clicks.log import log_columns
from polars_rank.clicks.log.log_columns import LogColumns, LogOptions
from polars_rank.conventions.choices import CHOICES
from polars_rank.conventions.tools import TOOLS, complete_arguments
from polars_rank.core.metric.registry import METRICS as ALL
from polars_rank.core.metric.registry import check
from polars_rank.core.parameters import Doc, read_hint
from polars_rank.core.weights import DISCOUNTS, GAINS
from polars_rank.io.formats import FORMATS
from polars_rank.io.scan import _BY_NAME, FileFormat
from polars_rank.namespaces import ExprRankEval

HOME = Path(polars_rank.__file__).parent
PARITY = Path(__file__).parents[2] / "docs" / "parity.jsonl"
LAYERS = (
    "exceptions",
    "core",
    "_files",
    "io",
    "_statistics",
    "metrics",
    "measures",
    "conventions",
    "_engine",
    "evaluation",
    "clicks",
    "example",
    "report",
    "comparison",
    "uncertainty",
    "fusion",
    "analysis",
    "recommend",
    "typing",
    "parts",
    "dask",
    "ray",
    "spark",
    "integrations",
    "namespaces",
    "cli",
    "__main__",
)
SPOKEN = (  # rooms whose functions begin their docstrings with a verb
    "core",
    "io",
    "_engine/checks",
    "_engine/stages",
    "measures",
    "conventions",
    "evaluation",
    "namespaces",
    "_files",
    "_statistics",
)
WINGS = {"example", "evaluation", "clicks"}  # none knows another
ROOMS = {  # of each wing, from the lowest; "" are the files beside the rooms
    "core": ("", "exact", "words", "metric"),
    "clicks": (
        *("log", "behavior", "bias", "judgments", "off_policy", "experiments"),
        "simulation",
    ),
    "comparison": ("input", "sums", "tests", "", "gate", "systems"),
    "uncertainty": ("bounds", "", "audit"),
    "fusion": ("formulas", ""),
    "analysis": ("slicing", ""),
    "recommend": ("",),
    "parts": ("", "engine"),
    "cli": ("output", "", "input", "commands"),
}


def layer(module: str) -> str:
    """``polars_rank._engine.plan`` -> ``engine``."""
    return module.split(".")[1]


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            if node.module == "polars_rank":
                found |= {f"polars_rank.{name.name}" for name in node.names}
    return {name for name in found if name.startswith("polars_rank.")}


def test_imports_point_downwards():
    wrong = []
    for path in HOME.rglob("*.py"):
        if path == HOME / "__init__.py":
            continue
        module = path.relative_to(HOME).with_suffix("")
        own = module.parts[0]
        assert own in LAYERS, f"{own} has no place in LAYERS"
        for name in imports(path):
            other = layer(name)
            if own == "cli" and other not in LAYERS:  # names of the public package
                continue
            upward = LAYERS.index(other) > LAYERS.index(own)
            if upward or (own != other and {own, other} <= WINGS):
                wrong.append(f"{module} imports {name}")
    assert not wrong


def room(wing: str, module: str) -> str:
    """``polars_rank.clicks.log.rows`` -> ``log``; files beside rooms are in none."""
    name = module.split(".")[2] if module.count(".") > 1 else ""
    return name if (HOME / wing / name).is_dir() else ""


@pytest.mark.parametrize("wing", ROOMS)
def test_rooms_import_those_below(wing):
    """Also where only a type checker reads the import."""
    wrong, order = [], ROOMS[wing]
    for path in (HOME / wing).rglob("*.py"):
        module = ".".join(
            ("polars_rank", *path.relative_to(HOME).with_suffix("").parts)
        )
        if path == HOME / wing / "__init__.py":
            continue
        own = order.index(room(wing, module))
        for name in imports(path):
            if layer(name) == wing and order.index(room(wing, name)) > own:
                wrong.append(f"{module} imports {name}")
    assert not wrong


def test_no_imports_go_in_a_circle():
    """Also where only a type checker reads them, or a function when it is called."""
    paths = {
        ".".join(("polars_rank", *path.relative_to(HOME).with_suffix("").parts)): path
        for path in HOME.rglob("*.py")
        if path.name != "__init__.py"
    }
    left = {}
    for name, path in paths.items():
        nodes = ast.walk(ast.parse(path.read_text()))
        froms = (n for n in nodes if isinstance(n, ast.ImportFrom) and n.module)
        named = {f"{n.module}.{own.name}" for n in froms for own in n.names}
        left[name] = (imports(path) | named) & paths.keys()
    while free := {name for name, others in left.items() if not others & left.keys()}:
        left = {name: others for name, others in left.items() if name not in free}
    assert not left, "these modules are in circles, or import some that are"


def test_a_room_holds_a_dozen_files_and_says_what():
    """But for the metrics, where a file is a family."""
    for folder in {path.parent for path in HOME.rglob("*.py")} - {HOME}:
        files = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        assert len(files) <= 12 or folder == HOME / "metrics", folder
        summary, _, more = ast.get_docstring(
            ast.parse((folder / "__init__.py").read_text())
        ).partition("\n\n")
        assert summary.endswith("."), folder
        assert more, f"{folder}/__init__.py says what the room may import"


def test_a_file_name_stands_for_one_thing():
    """Commands and methods have the name of the function that they call."""
    seen = {}
    for path in HOME.rglob("*.py"):
        room = path.relative_to(HOME).parts[0]
        if not path.stem.startswith("__") and room not in ("cli", "namespaces"):
            seen.setdefault(path.stem, []).append(str(path.relative_to(HOME)))
    assert not [paths for paths in seen.values() if len(paths) > 1]


def test_metrics_know_no_frame_and_no_column():
    for path in (HOME / "metrics").glob("*.py"):
        text = path.read_text()
        for word in ("LazyFrame", "DataFrame", "pl.col(", ".over(", "map_elements"):
            assert word not in text, f"{word} in {path.name}"


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_stands_everywhere(name):
    metric, family = METRICS[name], METRICS[name].family
    rows = [case for case in CASES if case.metric == name]
    assert rows, f"rows in tests/cases/{family}.py"
    assert name in reference.METRICS, f"a plain loop in tests/reference/{family}.py"
    for section in ("Undefined:", "Source:", "Example:"):
        assert section in metric.doc, section
    assert metric.summary.endswith(".")
    assert len(metric.summary) <= 80


@pytest.mark.parametrize("name", SUBTOPIC_METRICS)
def test_every_metric_of_subtopics_stands_everywhere(name):
    metric = SUBTOPIC_METRICS[name]
    assert name in reference.SUBTOPIC_METRICS, "a plain loop in tests/reference"
    assert name in {case[0] for case in SUBTOPIC_CASES}, "rows in tests/cases"
    for section in ("Undefined:", "Source:", "Example:"):
        assert section in metric.doc, section
    assert metric.summary.endswith(".")
    assert len(metric.summary) <= 80
    first, *others = inspect.signature(metric.function).parameters.values()
    assert first.name == "s"
    assert all(p.kind is p.KEYWORD_ONLY for p in others)
    check(metric, complete_arguments(metric))
    tried = {p for variant in reference.SUBTOPIC_VARIANTS[name] for p in variant}
    assert not metric.parameters.keys() - tried, (
        "VARIANTS in tests/reference/diversity.py"
    )
    for preset in (*metric.aliases.values(), *reference.SUBTOPIC_VARIANTS[name]):
        check(metric, preset)


def test_an_expression_says_where_measures_of_subtopics_are():
    for name in (*SUBTOPIC_METRICS, "alpha_nDCG"):
        with pytest.raises(AttributeError, match=r"evaluate or per_query.*subtopic="):
            getattr(pl.col("label").rank_eval, name)
    with pytest.raises(AttributeError, match="'ndgc'; did you mean 'ndcg'"):
        _ = pl.col("label").rank_eval.ndgc
    assert not hasattr(ExprRankEval, "alpha_ndcg")


def test_an_expression_knows_the_names_of_other_tools():
    label = pl.col("label").rank_eval
    for name, options, own, params in (
        ("recip_rank", {}, "rr", {}),
        ("HR", {"k": 5}, "accuracy", {"k": 5}),
        ("Recall", {"k": 5}, "recall", {"k": 5}),
        ("P_5", {}, "precision", {"k": 5}),
        ("RBP", {}, "rbp", {"p": 0.8, "gain": "binary"}),
        ("RBP", {"p": 0.5}, "rbp", {"p": 0.5, "gain": "binary"}),
    ):
        expected = getattr(label, own)("score", **params)
        assert str(getattr(label, name)("score", **options)) == str(expected)
    assert not hasattr(label, "_repr_html_")


@pytest.mark.parametrize("name", METRICS)
def test_every_parameter_has_a_rule_and_a_test(name):
    metric = METRICS[name]
    first, *others = inspect.signature(metric.function).parameters.values()
    assert first.name == "r"
    assert all(p.kind is p.KEYWORD_ONLY for p in others)
    assert not metric.parameters.keys() & {
        "score",
        "rank",
        "doc",
        "ties",
        "no_relevant",
    }
    check(metric, complete_arguments(metric))
    tried = {p for variant in variants(name) for p in variant}
    missing = metric.parameters.keys() - tried
    assert not missing, f"VARIANTS in tests/reference/{metric.family}.py"
    for variant in variants(name):
        check(metric, variant)
    for preset in metric.aliases.values():
        check(metric, preset)


@pytest.mark.parametrize("name", METRICS)
def test_a_method_has_the_signature_of_its_metric(name):
    metric, method = METRICS[name], getattr(ExprRankEval, name)
    assert method.__name__ == name
    _, _, *parameters = inspect.signature(method).parameters.values()
    shown = {p.name: p.default for p in parameters}
    defaults = complete_arguments(metric)
    assert list(shown)[: len(defaults)] == list(metric.parameters)
    assert defaults.items() <= shown.items()


@pytest.mark.parametrize("name", METRICS)
def test_the_help_of_a_method_is_complete(name):
    """The metric's documentation, and every parameter with its description."""
    metric, method = METRICS[name], getattr(ExprRankEval, name)
    before, _, after = method.__doc__.partition("\n\nParameters\n----------\n")
    block, _, sections = after.partition("\n\n")
    assert f"{before}\n\n{sections}" == metric.doc
    _, *parameters = inspect.signature(method).parameters
    lines = block.splitlines()
    assert sorted(line for line in lines if line[0] != " ") == sorted(parameters)
    for i, line in enumerate(lines):
        assert line[0] == " " or lines[i + 1].startswith("    "), line


@pytest.mark.parametrize("name", ALL)
def test_every_parameter_is_described(name):
    for parameter in ALL[name].parameters.values():
        where, text = f"{name}: {parameter.name}", parameter.doc.text
        assert text, f"{where}: Annotated[..., Doc(...)]"
        assert text[-1] != "."
        assert "\n" not in text
        for value in parameter.doc.values:
            assert parameter.allowed.test(value), where
        named = {*parameter.doc.values, *values_of(parameter.meaning)}
        for value in literals(parameter.hint):
            assert value in named or value in (*GAINS, *DISCOUNTS), f"{where}: {value}"


def values_of(meaning: str) -> set[object]:
    return {*CHOICES[meaning].values} if meaning in CHOICES else set()


def literals(hint: object) -> list[object]:
    """Values of a type that have a name."""
    parts = get_args(hint) if get_origin(hint) is not Annotated else get_args(hint)[:1]
    if get_origin(hint) is Literal:
        return list(parts)
    if get_origin(hint) in (Annotated, Union, UnionType):
        return [value for part in parts for value in literals(part)]
    return []


def test_the_last_description_counts():
    general = Annotated[int, Doc("in general")]
    assert read_hint("n", Annotated[general, Doc("here")]).doc.text == "here"


@pytest.mark.parametrize("name", ALL)
def test_what_follows_from_flags_is_not_written(name):
    """``Metric.doc`` composes it; a docstring that says it, too, will drift."""
    written = ALL[name].function.__doc__
    for words in ('closed form for ``ties="expected"``', "above 1023", "grade above"):
        assert words not in written
    undefined = written.partition("Undefined: ")[2].partition("\n")[0]
    assert undefined not in (
        "nothing is relevant.",
        "no document has a positive gain.",
        "no document has a positive grade.",
        "no subtopic has a relevant document.",
    )


def test_these_measures_have_a_mean_over_tied_orders():
    """Written down: one that left would not be missed by the tests of all others."""
    promised = """
        accuracy ap arp auc cg dcg f1 f_measure hits hole insq judged ndcg pair_accuracy
        precision r_precision rbp rbp_residual recall relevant_above rr sdcg unjudged
    """
    found = [n for n, m in METRICS.items() if m.tie_mean and m.tie_sensitive]
    assert sorted(found) == promised.split()


def test_what_follows_from_flags_is_said():
    for name, metric in ALL.items():
        said = 'closed form for ``ties="expected"``' in " ".join(metric.doc.split())
        some = metric.tie_sensitive and bool(metric.no_tie_mean_when)
        assert said == (some or not metric.has_tie_mean({})), name
        assert "Undefined: " in metric.doc, name
    assert ALL["ap"].sections["Errors"].startswith('with ``divisor="hits"``, no closed')
    assert ALL["recall"].sections["Undefined"] == "nothing is relevant."
    assert "gain below 0" in ALL["rbp"].sections["Errors"]


@pytest.mark.parametrize(
    "name", [n for n, m in METRICS.items() if m.named("max_grade")]
)
def test_a_grade_above_the_scale_is_an_error(name):
    log = pl.DataFrame({"score": [1.0], "label": [5]})
    value = getattr(pl.col("label").rank_eval, name)("score", max_grade=4)
    assert "a grade above ``max_grade``" in METRICS[name].sections["Errors"]
    with pytest.raises(polars_rank.DataError, match="grade above max_grade=4"):
        log.select(value)


@pytest.mark.parametrize("name", [n for n, m in METRICS.items() if m.named("gain")])
def test_a_negative_gain_is_an_error(name):
    log = pl.DataFrame({"score": [1.0], "label": [5]})
    value = getattr(pl.col("label").rank_eval, name)("score", gain=lambda g: -g)
    with pytest.raises(polars_rank.DataError, match="gains below 0"):
        log.select(value)


def test_only_metrics_have_rows_and_loops():
    there = {case.metric for case in CASES} | reference.METRICS.keys()
    lost = sorted(there - METRICS.keys())
    assert not lost, f"rows or a loop of {lost}, which no module of metrics/ exports"
    assert {case.metric for case in CASES} == METRICS.keys() == reference.METRICS.keys()
    assert reference.VARIANTS.keys() <= METRICS.keys()
    assert {name for fact in FACTS for name in where(fact)} <= METRICS.keys()
    assert {fact for f in FAMILIES for fact in getattr(f, "WHERE", ())} <= set(FACTS)


def test_no_function_is_forgotten():
    """Every public function of a family file is a registered metric."""
    for path in (HOME / "metrics").glob("*.py"):
        tree = ast.parse(path.read_text())
        named = {
            node.name
            for node in tree.body
            if isinstance(node, ast.FunctionDef)
            and any("metric(" in ast.unparse(d) for d in node.decorator_list)
        }
        if not named:
            continue
        exported = next(
            ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"
        )
        place = f"__all__ of metrics/{path.name}"
        assert sorted(named) == sorted(exported), place
        assert named <= ALL.keys(), f"import {path.stem} in metrics/__init__.py"


def test_what_follows_from_the_registry_is_written():
    """The methods' types and the README's table."""
    make = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "make.py"))
    written = make["STUB"].read_text() == make["stub"]()
    shown = make["README"].read_text() == make["readme"]()
    assert written, "run python docs/make.py"
    assert shown, "run python docs/make.py"


def test_the_types_of_the_methods_are_those_of_the_metrics():
    """Read with ast, as a type checker does."""
    tree = ast.parse((HOME / "namespaces" / "expr.pyi").read_text())
    known = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    (body,) = (node.body for node in tree.body if isinstance(node, ast.ClassDef))
    methods = {node.name: node.args for node in body if node.name != "__init__"}
    assert methods.keys() == METRICS.keys() | {"contribution", "per_query"}
    names = {name: getattr(polars_rank.typing, name, None) for name in known}
    names |= {"Literal": Literal}
    for name, metric in METRICS.items():
        of_method = {arg.arg: arg.annotation for arg in methods[name].kwonlyargs}
        for parameter in metric.parameters.values():
            shown = eval(ast.unparse(of_method[parameter.name]), names)
            assert bare(shown) == bare(parameter.hint)
        used = {
            node.id
            for annotation in of_method.values()
            for node in ast.walk(annotation)
            if isinstance(node, ast.Name)
        }
        assert used <= known | vars(builtins).keys()


@pytest.mark.parametrize("name", METRICS)
def test_loops_have_the_defaults_of_their_metric(name):
    """They share no code, so a default that is changed is changed there, too."""
    metric = METRICS[name]
    own = inspect.signature(reference.METRICS[name]).parameters
    for parameter, default in complete_arguments(metric).items():
        place = f"default of {parameter} in tests/reference/{metric.family}.py"
        assert own[parameter].default == default, place


OF_LOGS = "behavior", "report", "compare-arms", "counterfactual", "interleaving"
NOT_IN_WORDS = {"frame", "measures", "descending", "progress"}  # of the command


def test_keywords_of_evaluations_are_described_and_options():
    functions = polars_rank.evaluate, polars_rank.per_query
    described = "".join(map(str, (function.__doc__ for function in functions)))
    names = {n for f in functions for n in inspect.signature(f).parameters}
    missing = sorted(name for name in names if not describes(described, name))
    assert not missing, "describe them in the docstrings of evaluation/evaluate.py"
    offered = options_of(["evaluate"])
    words = {name: f"--{name.replace('_', '-')}" for name in names - NOT_IN_WORDS}
    missing = sorted(name for name, word in words.items() if word not in offered)
    assert not missing, "make them options in cli/commands/evaluate.py"


def test_columns_of_click_logs_have_a_role_a_place_and_a_description():
    named = LogColumns.__annotations__.keys() - {"impression"}
    placed = {*log_columns.ROWS, *log_columns.CARRIED}
    assert named == placed, "ROWS or CARRIED of clicks/log_columns.py"
    assert named <= ROLES.keys(), "a row in _engine/roles.py"
    described = str(LogOptions.__doc__)
    missing = [n for n in LogOptions.__annotations__ if not describes(described, n)]
    assert not missing, "describe them in LogOptions"
    offered = {word for command in OF_LOGS for word in options_of(["clicks", command])}
    missing = sorted(n for n in named if f"--{n.replace('_', '-')}" not in offered)
    assert not missing, "make them options in cli/commands/clicks.py"


def test_functions_say_what_they_do():
    """A docstring begins with a verb, not with a fragment; a value may be a noun."""
    fragments = "Whether", "What", "How", "That", "Of", "The", "All", "Some", "As"
    odd = []
    for room in SPOKEN:
        for path in (HOME / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if not isinstance(node, ast.FunctionDef):
                    continue
                if any("property" in ast.unparse(d) for d in node.decorator_list):
                    continue
                first = (ast.get_docstring(node) or ".").split()[0]
                if first in fragments:
                    odd.append(f"{path.relative_to(HOME)}: {node.name}: {first} ...")
    assert not odd


def describes(docstring: str, name: str) -> bool:
    """Whether a line names it as a parameter, perhaps beside others."""
    return bool(re.search(rf"(?m)^    (\w+, )*{name}(, \w+)*$", docstring))


def test_every_format_can_be_named():
    """``format=`` takes the first extension of each row of the table, and its own."""
    assert {*get_args(FileFormat)} == {*_BY_NAME}, "FileFormat in io/scan.py"
    for name in _BY_NAME:
        assert f'"{name}"' in str(polars_rank.scan.__doc__), "the docstring of scan"
    guide = " ".join(str(evaluate_files.__doc__).split())
    names = [row.extensions[0][1:] for row in FORMATS.values()]
    assert ", ".join(names) in guide, "the docstring of cli/commands/evaluate.py"


def bare(hint: object) -> object:
    """The type without what the library adds to it; unions as sets."""
    if get_origin(hint) is Annotated:
        return bare(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return frozenset(map(bare, get_args(hint)))
    return hint


def test_every_claim_to_equal_a_tool_is_recorded():
    """A run of ``pytest -m parity`` records them; tests/golden has trec_eval itself."""
    lines = map(json.loads, PARITY.read_text().splitlines())
    recorded = {(line["tool"], line["measure"]) for line in lines}
    claimed = {
        (tool.name, metric)
        for name, tool in TOOLS.items()
        if name != "trec_eval"
        for metric in tool.equal
    }
    missing = sorted(claimed - recorded)
    assert not missing, "no line in docs/parity.jsonl: run pytest -m parity"


def test_evaluate_takes_what_per_query_takes():
    whole, each = (
        inspect.signature(function).parameters
        for function in (polars_rank.evaluate, polars_rank.per_query)
    )
    assert whole.keys() - each.keys() == {"by", "weight", "stats"}
    assert each.keys() - whole.keys() == {"keep"}
    shared = [name for name in whole if name in each]
    assert shared == [name for name in each if name in whole]
    for name in shared:
        assert whole[name].default == each[name].default, name
        assert whole[name].kind == each[name].kind, name
        assert whole[name].annotation == each[name].annotation, name


def test_options_of_an_evaluation_are_typed_once_and_all_passed_on():
    """What functions take as ``**options`` has the names and types of ``evaluate``."""
    functions = polars_rank.evaluate, polars_rank.per_query
    signatures = [inspect.signature(function).parameters for function in functions]
    taken = {n: p.annotation for s in signatures for n, p in s.items()}
    typed = {
        name: hint.__forward_arg__
        for name, hint in RequestOptions.__annotations__.items()
    }
    assert typed == {n: taken[n] for n in taken if n not in ("frame", "measures")}
    tree = ast.parse((HOME / "evaluation" / "evaluate.py").read_text())
    bodies = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
    for function, parameters in zip(functions, signatures, strict=True):
        calls = [n for n in ast.walk(bodies[function.__name__]) if of_a_request(n)]
        passed = {k.arg: ast.unparse(k.value) for call in calls for k in call.keywords}
        del passed["result"]
        assert passed == {n: n for n in [*parameters][2:]}, function.__name__


def of_a_request(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "Request.of"


def test_public_names_are_those_that_are_exported():
    """Rooms of the house are there once imported; nothing else may leak."""
    allowed = {*LAYERS, "annotations"}  # the latter from __future__
    public = {name for name in dir(polars_rank) if name[0] != "_"}
    exported = set(polars_rank.__all__)
    assert len(exported) == len(polars_rank.__all__), "a name is exported twice"
    assert len(exported) <= 30, "the top level is small: put it into a room"
    assert not public - exported - allowed, "export it, or import it with an underscore"
    assert not exported - public, "exported, but not there"


@pytest.mark.slow
def test_a_new_process_imports_no_extra_and_has_all_public_names():
    """Whatever else was imported before; most names are imported when first used."""
    names = (
        "rich cyclopts hypothesis scipy pandas numba difflib numpy altair great_tables "
        "polars_rank.clicks polars_rank.comparison polars_rank.uncertainty"
    )
    code = "import sys, polars_rank; print([n for n in sys.argv if n in sys.modules])"
    code += "; [getattr(polars_rank, name) for name in polars_rank.__all__]"
    done = subprocess.run(
        [sys.executable, "-c", code, *names.split()],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "[]"


def test_every_mutant_changes_one_line_that_is_there():
    """And names tests that are there; see ``tests/mutants.py``."""
    moved = [m.name for m in MUTANTS if len(found(m, ROOT)) != 1]
    assert not moved, "the code has moved on: let these mutants follow"
    names = [m.name for m in MUTANTS]
    assert len(set(names)) == len(names)
    files = {t.partition(":")[0] for m in MUTANTS for t in m.tests.split()}
    assert all(file_of_tests(name, ROOT) for name in files)
    assert all(m.old != m.new for m in MUTANTS)


def test_random_changes_spare_types_and_stay_code(tmp_path):
    path = tmp_path / "code.py"
    path.write_text(
        '"""é: 1 < 2."""\n\ndef f(x: int | None) -> bool | str:\n'
        "    return not (x is not None and 0 <= x + 1 < 2) or True\n"
    )
    found = changes(path)
    assert sorted((change.old, change.new) for change in found) == [
        ("+", "-"),
        ("0", "1"),
        ("1", "2"),
        ("2", "3"),
        ("<", "<="),
        ("<=", "<"),
        ("True", "False"),
        ("and", "or"),
        ("is not", "is"),
        ("not ", ""),
        ("or", "and"),
    ]
    for change in found:
        text = change.apply(path.read_text())
        assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(path.read_text()))
