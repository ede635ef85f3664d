"""tf.contrib.image: Images: projective transforms, warps, connected components, adjustment in YIQ space."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.image.warp import (
    dense_image_warp as dense_image_warp,
    interpolate_spline as interpolate_spline,
    sparse_image_warp as sparse_image_warp,
)
from thalweg._src.compat.contrib.image.yiq import (
    adjust_hsv_in_yiq as adjust_hsv_in_yiq,
    random_hsv_in_yiq as random_hsv_in_yiq,
)
from thalweg._src.graph.ops.image_projection import (
    angles_to_projective_transforms as angles_to_projective_transforms,
    compose_transforms as compose_transforms,
    flat_transforms_to_matrices as flat_transforms_to_matrices,
    matrices_to_flat_transforms as matrices_to_flat_transforms,
    rotate as rotate,
    transform as transform,
    translate as translate,
    translations_to_projective_transforms as translations_to_projective_transforms,
)
from thalweg._src.graph.ops.image_regions import (
    bipartite_match as bipartite_match,
    connected_components as connected_components,
)

__all__ = [
    "adjust_hsv_in_yiq", "angles_to_projective_transforms", "bipartite_match", "compose_transforms",
    "connected_components", "dense_image_warp", "flat_transforms_to_matrices", "interpolate_spline",
    "matrices_to_flat_transforms", "random_hsv_in_yiq", "rotate", "sparse_image_warp", "transform", "translate",
    "translations_to_projective_transforms",
]

from thalweg._src.compat.source_paths import attach as _attach

_attach(__name__)
