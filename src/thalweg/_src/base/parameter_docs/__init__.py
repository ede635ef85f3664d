"""Texts for parameters of the public API: one table for all functions, and narrower ones for namespaces and functions.

`GENERAL` maps a parameter's name to its text. `SCOPED` maps a scope to such a table: a public name ("nn.moments") or
a namespace with a final dot ("train."). The narrower scope wins. `*args` and `**kwargs` are keys with their stars.
The modules of this package hold the texts by theme; there one key of SCOPED may list several scopes.
"""

from __future__ import annotations

from thalweg._src.base.parameter_docs import (
    contrib,
    core,
    core_functions,
    deployment,
    estimator,
    general,
    input,
    keras_backend,
    keras_callbacks,
    keras_data,
    keras_layers,
    keras_losses,
    keras_models,
    keras_optimizers,
    keras_recurrent,
    keras_values,
    layers,
    models,
    training,
    values,
)

_KERAS = (
    estimator,
    keras_backend,
    keras_callbacks,
    keras_data,
    keras_layers,
    keras_losses,
    keras_models,
    keras_optimizers,
    keras_recurrent,
    keras_values,
)
GENERAL: dict[str, str] = {
    **general.PARAMETERS,
    **core.PARAMETERS,
    **values.PARAMETERS,
    **layers.PARAMETERS,
    **models.PARAMETERS,
    **training.PARAMETERS,
    **input.PARAMETERS,
    **contrib.PARAMETERS,
    **{name: text for theme in _KERAS for name, text in theme.PARAMETERS.items()},
}
SCOPED: dict[str, dict[str, str]] = {}

for _themes in (core_functions, values, layers, models, training, input, contrib, deployment, *_KERAS):
    for _scopes, _texts in _themes.SCOPED.items():
        for _scope in _scopes.split():
            SCOPED.setdefault(_scope, {}).update(_texts)
