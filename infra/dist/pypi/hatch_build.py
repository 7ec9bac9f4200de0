"""What a wheel has of its build: the tag of its platform, and where the sources are."""

import os

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


class Tag(BuildHookInterface):
    def initialize(self, version, build_data):
        build_data["pure_python"] = False
        build_data["tag"] = os.environ["TAG"]


class Urls(MetadataHookInterface):
    def update(self, metadata):
        repository = os.environ.get("REPOSITORY_URL")
        metadata["urls"] = {"Repository": repository} if repository else {}
