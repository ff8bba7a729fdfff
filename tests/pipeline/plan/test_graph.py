"""Dependencies follow from what tasks read and write."""

import pytest

from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.plan.failures import failed_and_dependents, failures
from kernel_pipeline.plan.graph import Graph
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.store.reports import TaskReport
from tests.helpers.sweeps import plan_in, small_config

WAVE = ("regression", "alignf")
WEIGHTS, TILES = "weights/wave/regression/alignf/0-3", "tiles/wave/0"


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    methods = ["unif", "align", "alignf", "l2-krr", "each-kernel"]
    return plan_in(tmp_path_factory.mktemp("plan"), small_config(methods=methods))[0]


@pytest.fixture(scope="module")
def wave(plan: Plan) -> DatasetPlan:
    return plan.datasets[0]


def of_stage(dataset: DatasetPlan, stage: str) -> set[str]:
    return {task.name for task in dataset.stages[stage]}


def direct_dependencies(graph: Graph, name: str) -> set[str]:
    count, found = len(graph.tasks), set()
    for node in graph.predecessors(graph.number[name]):
        found |= {node} if node < count else set(graph.predecessors(node))
    return {graph.tasks[number].name for number in found}


def test_each_task_depends_on_the_tasks_that_write_its_inputs(wave: DatasetPlan) -> None:
    needed = {task.name: direct_dependencies(wave.graph, task.name) for task in wave.tasks}
    tiles, reduced = of_stage(wave, "tiles"), of_stage(wave, "reduce")
    combined = {task.name for task in wave.stages["combine"] if task.method_key == WAVE}
    assert needed[TILES] == set()
    assert needed["reduce/wave/regression"] == tiles
    assert needed[WEIGHTS] == reduced
    assert all(needed[name] == tiles | {WEIGHTS} | reduced for name in combined)
    assert needed["fits/wave/regression/alignf/2"] == combined | {WEIGHTS} | reduced
    assert needed["fits/wave/regression/l2-krr/2"] == tiles | reduced


def test_many_readers_of_many_writers_share_a_node(plan: Plan) -> None:
    graph = Graph(plan.tasks)
    edges = sum(map(len, graph.needs)) + sum(map(len, graph.parts))
    assert edges < 6 * len(graph.tasks)
    assert len(set(graph.parts)) == len(graph.parts)


def test_a_fit_that_failed_blocks_nothing(wave: DatasetPlan) -> None:
    assert wave.graph.first_marked({"fits/wave/regression/alignf/0"}) == {}


def test_the_first_of_several_failures_in_the_plan_is_named(wave: DatasetPlan) -> None:
    first = wave.graph.first_marked({WEIGHTS, TILES})
    fit, other = "fits/wave/regression/alignf/0", "fits/wave/regression/unif/0"
    assert {name: first.get(name) for name in (fit, other, WEIGHTS, TILES)} == {
        fit: TILES,
        other: TILES,
        WEIGHTS: TILES,
        TILES: None,
    }


def test_ancestors_are_all_that_a_task_depends_on(wave: DatasetPlan) -> None:
    assert wave.graph.ancestors({WEIGHTS}) == of_stage(wave, "tiles") | of_stage(wave, "reduce")
    assert wave.graph.ancestors({TILES}) == set()


def test_a_blocked_task_names_the_failure_that_blocks_it(wave: DatasetPlan) -> None:
    failed = TaskReport(task=WEIGHTS, failed="failed: it was too hot")
    done = {task.name: TaskReport(task=task.name) for task in wave.tasks if task.method_key != WAVE}
    reasons = failures(wave, done | {failed.name: failed})
    assert reasons.pop(failed.name) == "failed: it was too hot"
    assert set(reasons) == {task.name for task in wave.tasks if task.method_key == WAVE} - {failed.name}
    assert set(reasons.values()) == {f"{failed.name}: failed: it was too hot"}
    assert failures(wave, done) == {}


def test_a_failed_task_is_retried_with_its_dependents(wave: DatasetPlan) -> None:
    failed = TaskReport(task=WEIGHTS, result_json=b'{"trials": {"1": {"status": "failed: it was too hot"}}}')
    assert failed_and_dependents(wave, {WEIGHTS: failed}) == {t.name for t in wave.tasks if t.method_key == WAVE}
    assert failed_and_dependents(wave, {}) == set()
