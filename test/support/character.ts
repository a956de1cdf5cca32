// Any character for fast-check's strings: its own unit `binary` means the same, but takes more than a second to prepare.
import * as fc from 'fast-check';

/** A character of Unicode, but no half of a surrogate pair. */
export const character = fc.nat(0x10_f7ff).map((code) => String.fromCodePoint(code < 0xd800 ? code : code + 0x800));
