"""Models and the loop that lets them use tools until they answer."""
