"""Reads the final answer out of a reply. Pure functions, linear in the length of the reply, blind to the target.

Of spans it is known whether one or several are wanted, and nothing else.
"""
