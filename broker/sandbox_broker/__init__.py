"""The egress broker: decides what leaves a sandbox, and holds the credentials guests never see."""
