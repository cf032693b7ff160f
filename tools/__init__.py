"""What can be handed to an agent as a tool."""
