"""The six tasks: how instances are made of rows, and what a model is shown of them."""
