"""Checks that reject text which only looks like a find: check digits, entropy, and base64 content."""

import base64
import binascii
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.util import find_spec

USER_AND_PASSWORD = re.compile(r"[^\s:\x00-\x1f]{1,128}:[^\x00-\x1f]{1,256}")
PRINTABLE = re.compile(r"[\x09\x0a\x0d\x20-\x7e]+")


def entropy(value: str) -> float:
    """Bits a character (Shannon), from how often each character occurs in the value itself; 0 for an empty one."""
    counts = Counter(value).values()
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts)


def decode_base64(value: str) -> str | None:
    """The text that base64 encodes; None if the value is not base64 of printable ASCII."""
    try:
        text = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return None
    return text if PRINTABLE.fullmatch(text) else None


def is_user_and_password(value: str) -> bool:
    """True for base64 of user:password."""
    text = decode_base64(value)
    return text is not None and USER_AND_PASSWORD.fullmatch(text) is not None


def fits_luhn(value: str) -> bool:
    """True if the last digit is the check digit of the others (ISO/IEC 7812)."""
    digits = [int(letter) for letter in value if letter.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return len(set(digits)) > 1 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def fits_iban(value: str) -> bool:
    """True if the check digits of a bank account number are right (ISO 13616)."""
    plain = value.replace(" ", "")
    return (
        15 <= len(plain) <= 34
        and int("".join(str(int(character, 36)) for character in plain[4:] + plain[:4])) % 97 == 1
    )


def fits_phone(value: str) -> bool:
    """True for a telephone number of one of REGIONS, written as it is there. False without phonenumbers."""
    if "phonenumbers" in missing_libraries():
        return False
    from phonenumbers import Leniency, PhoneNumberMatcher

    strict = Leniency.STRICT_GROUPING
    return any(True for region in REGIONS for _ in PhoneNumberMatcher(value, region, leniency=strict))


def fits_national_id(value: str) -> bool:
    """True for a number of a person in France, Germany or India whose check digits fit. False without python-stdnum."""
    if "stdnum" in missing_libraries():
        return False
    from stdnum.de import idnr
    from stdnum.fr import nir
    from stdnum.in_ import aadhaar

    return any(kind.is_valid(value) for kind in (nir, idnr, aadhaar))


@lru_cache(maxsize=1)
def missing_libraries() -> tuple[str, ...]:
    """Libraries of the extra `privacy` that are not installed."""
    return tuple(name for name in LIBRARIES.values() if find_spec(name) is None)


REGIONS = ("US", "GB", "DE", "FR", "IT", "CH", "AT", "NL", "BR", "IN", "JP")  # whose numbers are written with a form
LIBRARIES = {"phone": "phonenumbers", "national_id": "stdnum"}  # check -> library of the extra `privacy`
CHECKS: Mapping[str, Callable[[str], bool]] = {
    "luhn": fits_luhn,
    "iban": fits_iban,
    "basic": is_user_and_password,
    "phone": fits_phone,
    "national_id": fits_national_id,
}
