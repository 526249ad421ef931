"""What this library costs beside its peers, measured in one run."""
