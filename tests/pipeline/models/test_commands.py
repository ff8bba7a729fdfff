"""`pipeline fit` and `pipeline predict`, compared with the API; files of new rows that are refused."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

import kernel_pipeline as kp
from kernel_pipeline.cli.main import main
from tests.helpers.build import listing
from tests.pipeline.models.example_run import clinic_table, documents


def command(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def predicted(model: Path, rows: Path) -> pd.DataFrame:
    result = command("predict", model, rows)
    assert result.exit_code == 0, result.output
    return pd.read_csv(io.StringIO(result.stdout))


@pytest.fixture(scope="module")
def models(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for dataset in ("clinic", "wines", "body", "reviews", "opinions", "sparse", "wave"):
        result = command("fit", root, "--dataset", dataset, "--method", "alignf", "--out", folder / f"{dataset}.skops")
        assert result.exit_code == 0, result.output
        assert f"of {dataset} by alignf, fitted to" in result.stdout
    return folder


def test_predict_gives_the_numbers_of_the_api(root: Path, models: Path, tmp_path: Path) -> None:
    new = clinic_table(100).iloc[60:].drop(columns=["outcome", "patient"])
    new.to_csv(tmp_path / "new.csv", index=False)
    new.to_parquet(tmp_path / "new.parquet")
    found = predicted(models / "clinic.skops", tmp_path / "new.csv")
    model = kp.open_run(root).model("clinic", "alignf")
    assert list(found) == ["row", "prediction", "decision"]
    assert list(found["row"]) == list(range(40))
    np.testing.assert_array_equal(found["decision"], model.decision_function(new))
    assert list(found["prediction"]) == list(model.predict(new))
    pd.testing.assert_frame_equal(found, predicted(models / "clinic.skops", tmp_path / "new.parquet"))
    result = command("predict", models / "clinic.skops", tmp_path / "new.csv", "--out", tmp_path / "found.csv")
    assert result.exit_code == 0
    assert result.stdout == f"Wrote {tmp_path / 'found.csv'}: predictions of 40 rows.\n"
    pd.testing.assert_frame_equal(found, pd.read_csv(tmp_path / "found.csv"))


@pytest.mark.parametrize("name", ["new.csv", "new.parquet"])
def test_predictions_have_the_index_of_the_source(models: Path, tmp_path: Path, name: str) -> None:
    new = clinic_table(66).iloc[60:].drop(columns="outcome")
    (new.to_csv if name == "new.csv" else new.to_parquet)(tmp_path / name, index=False)
    found = predicted(models / "clinic.skops", tmp_path / name)
    assert list(found) == ["row", "patient", "prediction", "decision"]
    assert list(found["patient"]) == [f"p{row}" for row in range(60, 66)]
    without = new.drop(columns="patient")
    without.to_csv(tmp_path / "without.csv", index=False)
    assert list(predicted(models / "clinic.skops", tmp_path / "without.csv")["decision"]) == list(found["decision"])


def test_each_source_accepts_files_of_its_format(root: Path, models: Path, tmp_path: Path) -> None:
    run = kp.open_run(root)
    _, texts = documents()
    (tmp_path / "new.txt").write_text("".join(f"{text}\n" for text in texts))
    np.testing.assert_array_equal(
        predicted(models / "reviews.skops", tmp_path / "new.txt")["decision"],
        run.model("reviews", "alignf").decision_function(texts),
    )
    opinions = pd.read_csv(root / "opinions.csv")[["said"]]
    opinions.to_csv(tmp_path / "opinions.csv", index=False)
    np.testing.assert_array_equal(
        predicted(models / "opinions.skops", tmp_path / "opinions.csv")["decision"],
        run.model("opinions", "alignf").decision_function(opinions),
    )
    sparse = predicted(models / "sparse.skops", root / "rows.libsvm")["prediction"]
    assert (
        np.corrcoef(sparse, [float(line.split()[0]) for line in (root / "rows.libsvm").read_text().splitlines()])[0, 1]
        > 0.9
    )
    wines = predicted(models / "wines.skops", _written(tmp_path / "wines.csv", "wines", root))
    assert list(wines) == ["row", "prediction", "decision_class_0", "decision_class_1", "decision_class_2"]
    body = predicted(models / "body.skops", _written(tmp_path / "body.csv", "body", root))
    assert list(body) == ["row", "prediction_Weight", "prediction_Waist", "prediction_Pulse"]


def _written(path: Path, dataset: str, root: Path) -> Path:
    from tests.pipeline.models.test_against_sweep import raw_rows

    raw_rows(root, dataset).to_csv(path, index=False)
    return path


def test_rows_without_names_are_in_the_order_of_the_source(root: Path, models: Path, tmp_path: Path) -> None:
    from tests.pipeline.models.test_against_sweep import raw_rows

    rows = raw_rows(root, "wave")
    rows.to_csv(tmp_path / "new.csv", index=False, header=False)
    found = predicted(models / "wave.skops", tmp_path / "new.csv")
    np.testing.assert_allclose(found["prediction"], kp.open_run(root).model("wave", "alignf").predict(rows.to_numpy()))


CLINIC = "age,sex,pressure,smoker\n"
WRONG = {
    "missing columns": ("age,sex\n50,f\n", "they lack 'pressure', 'smoker'"),
    "extra columns": (f"{CLINIC[:-1]},shoes\n50,f,130,no,44\n", "they have the unknown column 'shoes'"),
    "text in a number column": (f"{CLINIC}50,f,high,no\n", "column 'pressure' contains the text 'high' in row 1"),
    "infinity": (f"{CLINIC}50,f,130,no\ninf,f,130,no\n", "column 'age' has no usable number in row 2"),
    "uneven rows": (f"{CLINIC}50,f,130,no,7,8\n", "cannot read"),
    "empty": ("", "cannot read"),
}


@pytest.mark.parametrize("case", list(WRONG))
def test_wrong_rows_are_refused_with_one_message(models: Path, tmp_path: Path, case: str) -> None:
    content, message = WRONG[case]
    (tmp_path / "new.csv").write_text(content)
    assert message in _refused(models, tmp_path, models / "clinic.skops", tmp_path / "new.csv")


@pytest.mark.parametrize(("name", "message"), [("absent.csv", "does not exist"), ("new.libsvm", "they lack")])
def test_wrong_files_are_refused(models: Path, tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "new.libsvm").write_text("1 1:0.5\n")
    assert message in _refused(models, tmp_path, models / "clinic.skops", tmp_path / name)
    assert "is not a model" in _refused(models, tmp_path, tmp_path / "new.libsvm", tmp_path / "new.libsvm")


def _refused(models: Path, folder: Path, model: Path, rows: Path) -> str:
    before = listing(folder)
    result = command("predict", model, rows, "--out", folder / "found.csv")
    assert result.exit_code == 2, result.output
    assert listing(folder) == before
    assert result.stdout == ""
    assert result.stderr.count("Error:") == 1
    assert "Traceback" not in result.stderr
    return result.stderr


def test_a_foreign_file_has_the_exit_code_of_a_refusal(tmp_path: Path) -> None:
    import skops.io
    from sklearn.linear_model import Ridge

    skops.io.dump(Ridge(), tmp_path / "ridge.skops")
    result = command("predict", tmp_path / "ridge.skops", tmp_path / "new.csv")
    assert result.exit_code == 4
    assert "sklearn.linear_model._ridge.Ridge, which no model of this package contains" in result.stderr


def test_unseen_texts_and_gaps_follow_their_rules(models: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text(f"{CLINIC}50,f,130,pipe\n,x,130,no\n50,f,,\n60,F,120,no\n")
    result = command("predict", models / "clinic.skops", tmp_path / "new.csv")
    assert result.exit_code == 0
    assert (
        "note: column 'smoker' contains values that are not in the data that the model was fitted to, in 1 row: 'pipe';"
        in result.stderr
    )
    assert "in 2 rows: 'x', 'F' (did you mean 'f'?);" in result.stderr
    model = kp.load_model(models / "clinic.skops")
    encoder = model.encode(pd.read_csv(tmp_path / "new.csv"))
    np.testing.assert_array_equal(encoder.features[0], [50, 1, 0, 130, 0, 0, 0])  # no column of smoker is 1
    assert np.isnan(encoder.features[1, 0])  # imputed below
    mean, table = clinic_table()["age"].mean(), pd.read_csv(tmp_path / "new.csv")
    filled = table.assign(age=table["age"].fillna(mean))
    np.testing.assert_allclose(model.values(filled), model.values(table), rtol=0, atol=1e-12)


def test_rows_that_a_sweep_drops_have_no_prediction(root: Path) -> None:
    from dataclasses import replace

    from kernel_pipeline.data.table_rows import TableRows

    model = kp.open_run(root).model("clinic", "alignf")
    assert isinstance(model.encoder, TableRows)
    model.encoder = replace(model.encoder, missing="drop")
    rows = pd.read_csv(io.StringIO(f"{CLINIC}50,f,130,no\n50,f,,no\n"))
    assert model.predict(rows)[1] is None
    assert np.isnan(model.decision_function(rows)).tolist() == [False, True]
    model.encoder = replace(model.encoder, missing="error")
    with pytest.raises(kp.DataError, match=r"column 'pressure' has no usable number in row 2 .* missing = 'error'"):
        model.predict(rows)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--dataset", "clinics", "--method", "alignf"), "there is no dataset 'clinics'"),
        (("--dataset", "clinic", "--method", "align"), "there is no method 'align'"),
        (("--dataset", "wave", "--method", "each-kernel"), "there is no method 'each-kernel'"),
        (("--dataset", "wave", "--method", "best-single"), "method 'best-single' has no model"),
        (("--dataset", "clinic", "--method", "alignf", "--trial", "7"), "trial 7 does not exist"),
    ],
)
def test_models_that_do_not_exist_are_refused(
    root: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = command("fit", root, *arguments, "--out", tmp_path / "model.skops")
    assert result.exit_code == 2
    assert message in result.stderr
    assert not list(tmp_path.iterdir())


def commands_with_out(root: Path, models: Path, rows: Path) -> list[list[str | Path]]:
    """Return the commands of models that write to --out, without the file."""
    method = ["--dataset", "wave", "--method", "unif", "--out"]
    return [["predict", models / "clinic.skops", rows, "--out"], ["fit", root, *method], ["export", root, *method]]


def test_existing_files_are_not_replaced(
    root: Path, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, target = tmp_path / "new.csv", tmp_path / "target.npy"
    clinic_table(5).to_csv(rows, index=False)
    target.write_text("data of the user")
    before = listing(tmp_path)
    commands = commands_with_out(root, models, rows)
    for name in ("kernel_pipeline.models.model_file.load_model", "kernel_pipeline.run.run_results.RunResults"):
        monkeypatch.setattr(name, None)  # nothing is read before the check
    for arguments in commands:
        result = command(*arguments, target)
        assert result.exit_code == 2, result.output
        assert f"--out: {target} exists; remove it, or choose another name" in result.stderr
    assert f"{rows} exists" in command(*commands[0], rows).stderr  # the input of the command
    assert "clinic.skops exists" in command(*commands[0], models / "clinic.skops").stderr
    assert listing(tmp_path) == before


@pytest.mark.parametrize("place", ["new.npy", "results/new.npy", "weights.zarr/../new.npy"])
def test_nothing_is_written_into_a_run_directory(root: Path, models: Path, tmp_path: Path, place: str) -> None:
    clinic_table(5).to_csv(tmp_path / "new.csv", index=False)
    (tmp_path / "link").symlink_to(root)
    before = listing(root)
    for arguments in commands_with_out(root, models, tmp_path / "new.csv"):
        result = command(*arguments, tmp_path / "link" / place)
        assert result.exit_code == 2, result.output
        assert f"is inside of the run directory {root.resolve()}; choose a file outside of it" in result.stderr
    result = command("predict", models / "clinic.skops", tmp_path / "new.csv", "--out", root / "ledger.jsonl")
    assert "is inside of the run directory" in result.stderr  # no advice to remove the ledger
    assert listing(root) == before


def test_changed_data_are_refused(root: Path, tmp_path: Path) -> None:
    clinic_table(59).to_csv(tmp_path / "clinic.csv", index=False)
    result = command(
        "fit", root, "--dataset", "clinic", "--method", "unif", "--out", tmp_path / "m", "--data-dir", tmp_path
    )
    assert result.exit_code == 4
    assert "the data of 'clinic' have changed" in result.stderr
    assert f"in this one with `pipeline run CONFIG --out {root} --accept-changes`" in result.stderr
    assert "Choose another directory with --out" not in result.stderr  # --out is the file of the model
