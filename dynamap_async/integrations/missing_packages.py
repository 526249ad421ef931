"""What an integration says where the package that it integrates is not installed."""


def missing_extra(extra: str, error: ModuleNotFoundError) -> ModuleNotFoundError:
    """Return the error of an import that failed, with the extra that brings the package.

    Args:
        extra: the extra's name, which is also that of the integration's module.
    """
    package = (error.name or "").partition(".")[0]
    if package == "dynamap_async":
        return error
    remedy = f'pip install "dynamap-async[{extra}]"'
    return ModuleNotFoundError(
        f"dynamap_async.integrations.{extra} needs the package {package!r}, which the extra {extra!r} installs: "
        f"{remedy}",
        name=error.name,
    )
