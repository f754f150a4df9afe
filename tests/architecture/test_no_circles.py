"""No module imports itself by way of others: not when it is loaded, not in a function, and not for its types."""

from graphlib import CycleError, TopologicalSorter

import grimp


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = grimp.build_graph("pitstop", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        raise AssertionError(" imports ".join(reversed(error.args[1]))) from None
