"""Find the plug-ins that a config uses."""

from kernel_pipeline.config.families import family_of
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.tasks.kernels.family import FAMILIES, family_name


def plugin_packages(config: Config) -> tuple[tuple[str, str], ...]:
    """Return the packages of the plug-ins that a config uses: the names of the distribution and of its module."""
    used = _families(config) - FAMILIES.registered.keys()
    return tuple(sorted({(FAMILIES.plugins[name].package, FAMILIES.plugins[name].module) for name in used}))


def plugin_notes(config: Config) -> list[str]:
    """Return a note for each family of a config that a plug-in also declares; such plug-ins are ignored."""
    hidden = sorted(_families(config) & FAMILIES.registered.keys() & FAMILIES.plugins.keys())
    return [f"{FAMILIES.plugins[name]} is not used, since the built-in family has the same name" for name in hidden]


def _families(config: Config) -> set[str]:
    return {family_name(family_of(entry)) for dataset in config.dataset for entry in dataset.kernels}
