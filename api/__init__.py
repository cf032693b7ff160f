"""toolablate from Python: what `import toolablate` offers, over the layers that the command line stands on."""
