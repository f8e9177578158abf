"""The addresses of the public internet. Tools can connect to other addresses only if the operator allows it."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network

#: The IPv6 addresses for global unicast, as IANA has assigned them (RFC 4291, 2.4).
GLOBAL_UNICAST = IPv6Network("2000::/3")
#: Parts of GLOBAL_UNICAST that are not public: addresses for documentation (RFC 3849, 9637) and ORCHIDv2, and those of 6to4
#: and Teredo, which contain IPv4 addresses.
NOT_IN_USE = tuple(
    IPv6Network(text) for text in ("2001:db8::/32", "3fff::/20", "2002::/16", "2001::/32", "2001:20::/28")
)


def is_public(address: str, allowed: tuple[Network, ...] = ()) -> bool:
    """True if a numeric address is global unicast, or is in a network that the operator allows.

    If an IPv6 address contains an IPv4 address (such as `::ffff:10.0.0.1`), the IPv4 address is checked.
    """
    parsed = ip_address(address.partition("%")[0])
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    if any(parsed in network for network in allowed if network.version == parsed.version):
        return True
    if isinstance(parsed, IPv4Address):
        return parsed.is_global and not parsed.is_multicast
    return parsed in GLOBAL_UNICAST and not any(parsed in network for network in NOT_IN_USE)


def allows_this_machine(allowed: tuple[Network, ...]) -> bool:
    """Whether the operator allows that tools connect to the machine of the runner, by its IPv4 or its IPv6 address."""
    return any(is_public(address, allowed) for address in ("127.0.0.1", "::1"))


def read_networks(text: str) -> tuple[Network, ...]:
    """Networks separated by commas, such as `10.1.0.0/16`; raises ValueError."""
    return tuple(ip_network(part.strip()) for part in text.split(",") if part.strip())
