"""Corners of signals: lengths that do not fit, gradients of transforms, frames, windows, mel bands."""

import numpy as np


def _numbers(*shape, dtype=np.float32):
    return np.random.RandomState(0).normal(size=shape).astype(dtype)


def _signal(tf, *shape, dtype=np.float32):
    return tf.constant(_numbers(*shape, dtype=dtype))


def _complex(tf, *shape, dtype=np.complex64):
    x = _numbers(*shape, 2, dtype=np.float64)
    return tf.constant((x[..., 0] + 1j * x[..., 1]).astype(dtype))


def _slope(tf, function, x):
    """Returns a transform and a gradient through it in which all of its terms take part."""
    y = function(x)
    weights = _numbers(*y.shape.as_list(), dtype=np.float64) + 0.5
    if y.dtype.is_complex:
        weights = weights + 1j * weights[::-1] / 2
    (gradient,) = tf.gradients(y, x, tf.constant(weights.astype(y.dtype.as_numpy_dtype)))
    return y, gradient


def transforms(tf):
    s = tf.signal
    return [
        _slope(tf, function, _complex(tf, 2, 3, 4, 5))
        for function in (s.fft, s.ifft, s.fft2d, s.ifft2d, s.fft3d, s.ifft3d)
    ]


def transforms_in_double(tf):
    x = _complex(tf, 3, 4, dtype=np.complex128)
    return _slope(tf, tf.signal.fft, x), _slope(tf, tf.signal.ifft2d, x)


def real_transforms(tf):
    return [_slope(tf, tf.signal.rfft, _signal(tf, 3, n)) for n in (1, 2, 5, 6)]


def real_transforms_2d(tf):
    return [_slope(tf, tf.signal.rfft2d, _signal(tf, 2, 3, n)) for n in (4, 5)]


def real_transform_3d(tf):
    return tf.signal.rfft3d(_signal(tf, 2, 3, 4, 5)), tf.signal.irfft3d(_complex(tf, 2, 3, 4, 5))


def inverse_real_transforms(tf):
    return [_slope(tf, tf.signal.irfft, _complex(tf, 3, n)) for n in (2, 3, 6)]


def inverse_real_transforms_2d(tf):
    return [_slope(tf, tf.signal.irfft2d, _complex(tf, 2, 3, n)) for n in (3, 4)]


def odd_inverse(tf):
    return _slope(tf, lambda x: tf.signal.irfft(x, [5]), _complex(tf, 2, 3))


def longer_and_shorter(tf):
    x, y = _signal(tf, 3, 6), _complex(tf, 3, 6)
    return [tf.signal.rfft(x, [n]) for n in (1, 4, 9)] + [tf.signal.irfft(y, [n]) for n in (1, 4, 10, 13)]


def longer_and_shorter_2d(tf):
    x, y = _signal(tf, 2, 5, 6), _complex(tf, 2, 5, 6)
    return tf.signal.rfft2d(x, [4, 9]), tf.signal.rfft2d(x, [7, 3]), tf.signal.irfft2d(y, [3, 12])


def padded_slope(tf):
    return _slope(tf, lambda x: tf.signal.rfft(x, [8]), _signal(tf, 2, 5))


def nothing(tf):
    return [
        tf.signal.fft(tf.zeros([3, 0], tf.complex64)),
        tf.signal.fft2d(tf.zeros([0, 3, 2], tf.complex64)),
        tf.signal.rfft(tf.zeros([0, 3])),
        tf.signal.irfft(tf.zeros([0, 3], tf.complex64)),
    ]


def unknown_shapes(tf):
    x = tf.placeholder_with_default(_numbers(3, 6), [None, None])
    n = tf.placeholder_with_default(9, [])
    return tf.signal.rfft(x), tf.signal.rfft(x, [n]), tf.signal.irfft(tf.signal.rfft(x))


def unknown_rank(tf):
    x = tf.placeholder_with_default(_numbers(3, 6), None)
    return tf.shape(tf.signal.rfft(x, [4]))


def too_flat(tf):
    return tf.signal.fft2d(tf.zeros([3], tf.complex64))


def negative_length(tf):
    return tf.signal.rfft(tf.zeros([2, 3]), [-1])


def length_of_wrong_rank(tf):
    return tf.signal.rfft2d(tf.zeros([2, 3]), [3])


def integers(tf):
    return tf.signal.rfft(tf.constant([1, 2, 3]))


def shifts(tf):
    x = tf.reshape(tf.range(15), [3, 5])
    functions = (tf.signal.fftshift, tf.signal.ifftshift)
    return [f(x, axes) for f in functions for axes in (None, 0, 1, -1, [1], [0, -1])]


def cosines(tf):
    x = _signal(tf, 2, 6)
    return [f(x, type=t) for f in (tf.signal.dct, tf.signal.idct) for t in (1, 2, 3, 4)]


def orthogonal_cosines(tf):
    x = _signal(tf, 2, 5)
    return [f(x, type=t, norm="ortho") for f in (tf.signal.dct, tf.signal.idct) for t in (2, 3, 4)]


def cosines_cut_and_filled(tf):
    x = _signal(tf, 2, 5)
    return [tf.signal.dct(x, type=t, n=n) for t in (1, 2, 3, 4) for n in (3, 8)]


def cosines_of_unknown_shape(tf):
    x = tf.placeholder_with_default(_numbers(2, 5), [2, None])
    y = [tf.signal.dct(x, type=t) for t in (1, 2, 3, 4)]
    return [tf.reduce_sum(item, 1) for item in y] + [tf.reduce_sum(tf.signal.dct(x, type=2, norm="ortho"), 1)]


def cosine_slope(tf):
    return [_slope(tf, lambda x, t=t: tf.signal.dct(x, type=t), _signal(tf, 2, 6)) for t in (2, 3, 4)]


def cosine_of_axis(tf):
    return tf.signal.dct(_signal(tf, 2, 5), axis=0)


def cosine_of_one(tf):
    return tf.signal.dct(_signal(tf, 2, 1), type=1)


def cosine_normalized_by_chance(tf):
    return tf.signal.dct(_signal(tf, 2, 5), norm="forward")


def frames(tf):
    x = _signal(tf, 2, 11)
    cases = ((4, 2), (4, 4), (3, 5), (11, 1), (12, 1), (1, 1))
    return [tf.signal.frame(x, *case) for case in cases] + [tf.signal.frame(x, *case, pad_end=True) for case in cases]


def frames_of_axis(tf):
    x = _signal(tf, 7, 3, 2)
    return [tf.signal.frame(x, 3, 2, pad_end=p, pad_value=9, axis=a) for p in (False, True) for a in (0, 1, -2)]


def frames_of_unknown(tf):
    x = tf.placeholder_with_default(_numbers(2, 11), [2, None])
    n = tf.placeholder_with_default(4, [])
    return tf.signal.frame(x, 4, 2), tf.signal.frame(x, n, 2), tf.signal.frame(x, 4, n, pad_end=True)


def frame_slope(tf):
    return _slope(tf, lambda x: tf.signal.frame(x, 4, 3, pad_end=True), _signal(tf, 2, 9))


def overlaps(tf):
    x = _signal(tf, 2, 3, 5)
    return [tf.signal.overlap_and_add(x, step) for step in (1, 2, 4, 5, 7)]


def overlap_of_unknown(tf):
    x = tf.placeholder_with_default(_numbers(2, 3, 5), [None, None, None])
    return tf.signal.overlap_and_add(x, 2), tf.signal.overlap_and_add(x, tf.placeholder_with_default(3, []))


def overlap_too_flat(tf):
    return tf.signal.overlap_and_add(_signal(tf, 5), 2)


def short_time(tf):
    x = _signal(tf, 2, 40)
    y = tf.signal.stft(x, 10, 4)
    z = tf.signal.stft(x, 8, 4, fft_length=8, window_fn=None, pad_end=True)
    return y, z, tf.signal.inverse_stft(y, 10, 4), tf.signal.inverse_stft(z, 8, 4, 8, window_fn=None)


def short_time_and_back(tf):
    x = _signal(tf, 40)
    y = tf.signal.stft(x, 16, 4)
    return tf.signal.inverse_stft(y, 16, 4, window_fn=tf.signal.inverse_stft_window_fn(4))


def short_time_cut(tf):
    y = _complex(tf, 3, 5)
    return tf.signal.inverse_stft(y, 6, 2), tf.signal.inverse_stft(y, 12, 2, fft_length=8)


def short_time_of_unknown_length(tf):
    x = tf.placeholder_with_default(_numbers(40), [None])
    n = tf.placeholder_with_default(10, [])
    y = tf.signal.stft(x, n, 4)
    return tf.reduce_sum(tf.abs(y)), tf.signal.inverse_stft(y, n, 4)


def inverse_windows(tf):
    function = tf.signal.inverse_stft_window_fn
    return [function(step)(9, tf.float32) for step in (2, 3, 9, 11)]


def windows(tf):
    s = tf.signal
    lengths = (1, 2, 5, 8)
    raised = [f(n, periodic=p) for f in (s.hann_window, s.hamming_window) for n in lengths for p in (True, False)]
    kaisers = [s.kaiser_window(n, beta) for n in lengths for beta in (0.0, 4.0, 12.0)]
    return raised, kaisers, [s.vorbis_window(n) for n in lengths], [s.kaiser_bessel_derived_window(n) for n in (2, 8)]


def windows_in_other_types(tf):
    s = tf.signal
    return s.hann_window(7, dtype=tf.float64), s.vorbis_window(6, dtype=tf.float64), s.hann_window(4, dtype=tf.float16)


def windows_of_unknown_length(tf):
    return [tf.signal.hann_window(tf.placeholder_with_default(n, [])) for n in (1, 6)]


def window_of_integers(tf):
    return tf.signal.hann_window(7, dtype=tf.int32)


def modified_cosines(tf):
    x = _signal(tf, 2, 36)
    found = []
    for norm in (None, "ortho"):
        y = tf.signal.mdct(x, 8, norm=norm)
        found += [y, tf.signal.inverse_mdct(y, norm=norm)]
    z = tf.signal.mdct(x, 8, window_fn=None, pad_end=True)
    kaiser = tf.signal.mdct(x, 8, window_fn=tf.signal.kaiser_bessel_derived_window)
    return found, z, tf.signal.inverse_mdct(z, window_fn=None), kaiser


def modified_cosine_of_odd_length(tf):
    return tf.signal.mdct(_signal(tf, 36), 6)


def mel_weights(tf):
    s = tf.signal
    return s.linear_to_mel_weight_matrix(), s.linear_to_mel_weight_matrix(5, 17, 16000, 80.0, 7600.0, tf.float64)


def mel_by_tensor(tf):
    return tf.signal.linear_to_mel_weight_matrix(5, 17, tf.placeholder_with_default(16000, []), 80.0, 7600.0)


def mel_beyond_nyquist(tf):
    return tf.signal.linear_to_mel_weight_matrix(upper_edge_hertz=5000.0)


def mel_upside_down(tf):
    return tf.signal.linear_to_mel_weight_matrix(lower_edge_hertz=3800.0)


def cepstra(tf):
    return tf.signal.mfccs_from_log_mel_spectrograms(_signal(tf, 3, 7))


def older_names(tf):
    x = _complex(tf, 2, 3, 4)
    return (
        tf.fft(x),
        tf.ifft2d(x),
        tf.spectral.fft3d(x),
        tf.spectral.rfft(_signal(tf, 5)),
        tf.spectral.dct(_signal(tf, 5)),
    )
