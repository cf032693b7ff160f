"""What people can say of a trial that is wrong: the codes, with definitions and examples."""
