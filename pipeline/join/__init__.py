"""Where machine turns and human annotation become one table. It adds; it never changes an annotated value."""
