"""The preview listener: guest ports for browsers, over HTTP/1.1 as h11 reads it."""
