from toolablate.experiments.cli import main

main()
