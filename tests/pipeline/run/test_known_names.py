"""Names that users give are checked against the known ones."""

import pytest

from kernel_pipeline.errors import PipelineError
from kernel_pipeline.run.known_names import MAX_LISTED, check_known


@pytest.mark.parametrize("name", ["wav", "WAVE", "wavé"])
def test_an_unknown_name_is_an_error_that_names_the_nearest_one(name: str) -> None:
    check_known("dataset", "wave", ["body", "wave"])
    message = f"there is no dataset '{name}'. Available: 'body', 'wave'. Did you mean 'wave'?"
    with pytest.raises(PipelineError) as found:
        check_known("dataset", name, ["body", "wave"])
    assert str(found.value) == message


def test_only_the_first_known_names_are_listed() -> None:
    names = [f"{'abcdefghijkl'[number]}" * 5 for number in range(MAX_LISTED + 2)]
    with pytest.raises(PipelineError, match=r"'jjjjj' and 2 more\.$"):
        check_known("kernel", "unlike", names)
