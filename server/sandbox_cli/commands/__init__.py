"""One file a command: its options, one or two calls, and how the answer is printed."""
