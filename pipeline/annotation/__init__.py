"""What people say of a conversation: rows, labels, validation, and files of other tools."""
