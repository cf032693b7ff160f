"""What trace rules say of real flips, beside the labels of two readers."""
