"""The bus between gateways and workers: jobs, logs, registry and blobs."""
