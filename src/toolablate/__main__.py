from toolablate.cli import main

main()
