import re

from legato.console.files import built_page, read


def test_every_address_in_the_page_is_relative() -> None:
    index = read(built_page())["index.html"].body.decode()
    addresses = re.findall(r'(?:src|href)="([^"]*)"', index)
    assert addresses
    assert [one for one in addresses if one.startswith(("/", "http"))] == []


def test_the_page_s_script_is_small() -> None:
    scripts = [
        file for name, file in read(built_page()).items() if name.startswith("assets/index-")
    ]
    sizes = [len(file.packed or file.body) for file in scripts if "javascript" in file.media_type]
    assert sizes
    assert sum(sizes) <= 60 * 1024
