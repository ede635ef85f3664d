"""tf.contrib.image: warping and colour changes."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "delta_hue": "Angle in radians that is added to the hue.",
    "lower_saturation": "Lower end of the factor of the saturation.",
    "lower_value": "Lower end of the factor of the value.",
    "max_delta_hue": "Largest change of the hue, in radians.",
    "order": "Order of the spline.",
    "query_points": "Points [batch, count, dimensions] to evaluate.",
    "regularization_weight": "Smoothness penalty of the spline; 0 interpolates exactly.",
    "scale_saturation": "Factor of the saturation.",
    "scale_value": "Factor of the value.",
    "train_points": "Points [batch, count, dimensions] with known values.",
    "train_values": "Values [batch, count, outputs] at these points.",
    "upper_saturation": "Upper end of the factor of the saturation.",
    "upper_value": "Upper end of the factor of the value.",
}
