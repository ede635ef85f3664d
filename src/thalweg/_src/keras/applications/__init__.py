"""Networks for images, as they were published: architectures, weights of ImageNet, preparation of images."""
