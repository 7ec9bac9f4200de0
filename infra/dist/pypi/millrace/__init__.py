"""Millrace: durable workflow runs, events, webhooks and data stores."""
