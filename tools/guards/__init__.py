"""What looks at results from outside before a model does: leaks of answers, instruction-like text, blocked hosts."""
