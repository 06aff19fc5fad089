"""NATS: connecting, the streams, publishing, answering messages. Behind the extra [broker]."""
