"""Define the command that describes the columns of the result tables."""

import click


@click.command()
@click.argument("table", required=False)
def columns(table: str | None) -> None:
    """Describe the columns of the result tables.

    Name, type, unit and meaning are printed. TABLE is the name of a table, such as rows. Default: all tables.
    """
    from kernel_pipeline.errors import ConfigError
    from kernel_pipeline.results.table import TABLES

    if table is not None and table not in TABLES:
        raise ConfigError(TABLES.unknown_message(table))
    chosen = [TABLES[table]] if table is not None else list(TABLES.values())
    width = max(len(column.name) for found in chosen for column in found.columns)
    units = max(len(column.unit) for found in chosen for column in found.columns)
    for number, found in enumerate(chosen):
        if number:
            click.echo()
        click.echo(f"{', '.join(found.files)}:")
        for column in found.columns:
            click.echo(f"  {column.name:{width}}  {column.dtype:7}  {column.unit:{units}}  {column.meaning}".rstrip())
