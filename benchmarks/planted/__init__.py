"""The planted benchmark: questions to simulated models, of which it is known by construction why they go wrong.

Everything is made up. A question asks which of several options is best for every large n, and says what each comes to;
so code that looks at finitely many n really finds another one, and pages may speak for any. A scenario says what a
simulated model believes, what it calls and what of it moves the model. Every template can have every cause.
"""
