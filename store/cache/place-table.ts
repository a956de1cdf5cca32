// A table from places to positions, both whole numbers of 32 bits, in one block of memory outside the heap: a Map of as many entries takes
// four look-ups in memory where this takes one, and is moved by the collector as it grows.

/** Slots of an empty table. */
const fewestSlots = 1024;
/** Numbers of a slot: the place, and the position plus one; 0 there: the slot is free. */
const slotNumbers = 2;

export class PlaceTable {
  #slots = new Int32Array(fewestSlots * slotNumbers);
  #mask = fewestSlots - 1;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The position at this place; undefined: there is none. */
  get(place: number): number | undefined {
    const next = this.#slots[this.#slotOf(place) * slotNumbers + 1] as number;
    return next === 0 ? undefined : next - 1;
  }

  /** `position`: at least 0, less than 2^31 - 1. */
  set(place: number, position: number): void {
    const slot = this.#slotOf(place) * slotNumbers;
    const isNew = this.#slots[slot + 1] === 0;
    this.#slots[slot] = place;
    this.#slots[slot + 1] = position + 1;
    if (!isNew) return;
    this.#size += 1;
    // More than half full, runs of slots grow long.
    if (this.#size * 2 > this.#mask) this.#grow();
  }

  delete(place: number): void {
    let free = this.#slotOf(place);
    if (this.#slots[free * slotNumbers + 1] === 0) return;
    this.#size -= 1;
    // Entries behind it in the same run move up, except one that would then stand before its first slot.
    for (
      let slot = (free + 1) & this.#mask;
      this.#slots[slot * slotNumbers + 1] !== 0;
      slot = (slot + 1) & this.#mask
    ) {
      const first = (this.#slots[slot * slotNumbers] as number) & this.#mask;
      if (((slot - first) & this.#mask) < ((slot - free) & this.#mask)) continue;
      this.#slots.copyWithin(free * slotNumbers, slot * slotNumbers, (slot + 1) * slotNumbers);
      free = slot;
    }
    this.#slots[free * slotNumbers + 1] = 0;
  }

  /** The slot that has this place, or the free one where it belongs. */
  #slotOf(place: number): number {
    let slot = place & this.#mask;
    while (this.#slots[slot * slotNumbers + 1] !== 0 && this.#slots[slot * slotNumbers] !== place)
      slot = (slot + 1) & this.#mask;
    return slot;
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = new Int32Array(before.length * 2);
    this.#mask = this.#slots.length / slotNumbers - 1;
    for (let at = 0; at < before.length; at += slotNumbers) {
      const next = before[at + 1] as number;
      if (next === 0) continue;
      const place = before[at] as number;
      const slot = this.#slotOf(place) * slotNumbers;
      this.#slots[slot] = place;
      this.#slots[slot + 1] = next;
    }
  }
}
