"""What a library costs in a web service: FastAPI, one handler, get by key and model out."""
