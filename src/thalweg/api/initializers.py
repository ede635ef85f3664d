"""tf.initializers: first values of variables."""

from thalweg.client.initializers import (
    Constant as constant,
)
from thalweg.client.initializers import (
    GlorotNormal as glorot_normal,
)
from thalweg.client.initializers import (
    GlorotUniform as glorot_uniform,
)
from thalweg.client.initializers import (
    Identity as identity,
)
from thalweg.client.initializers import (
    Ones as ones,
)
from thalweg.client.initializers import (
    RandomNormal as random_normal,
)
from thalweg.client.initializers import (
    RandomUniform as random_uniform,
)
from thalweg.client.initializers import (
    TruncatedNormal as truncated_normal,
)
from thalweg.client.initializers import (
    UniformUnitScaling as uniform_unit_scaling,
)
from thalweg.client.initializers import (
    VarianceScaling as variance_scaling,
)
from thalweg.client.initializers import (
    Zeros as zeros,
)
from thalweg.client.initializers import (
    he_normal,
    he_uniform,
    lecun_normal,
    lecun_uniform,
)
from thalweg.client.variables import (
    global_variables_initializer as global_variables,
)
from thalweg.client.variables import (
    local_variables_initializer as local_variables,
)
from thalweg.client.variables import (
    variables_initializer as variables,
)

__all__ = [
    "constant",
    "global_variables",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "identity",
    "lecun_normal",
    "lecun_uniform",
    "local_variables",
    "ones",
    "random_normal",
    "random_uniform",
    "truncated_normal",
    "uniform_unit_scaling",
    "variables",
    "variance_scaling",
    "zeros",
]
