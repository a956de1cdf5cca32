// The filter of records by how far back they go.
import type { FilterField } from './filter-form.ts';
import { ranges } from './time-range.ts';

const usual = 'days=30';

export const daysField: FilterField = {
  name: 'days',
  label: 'Time',
  names: ['minutes', 'days'],
  options: [
    ['', '30 days'],
    ...ranges.filter(([value]) => value !== usual),
    ['days=90', '90 days'],
    ['days=365', 'A year'],
  ],
};
