"""The gRPC services for curl and browsers: the Connect protocol over HTTP/1.1, and JSON lines."""
