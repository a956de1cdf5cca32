// The filter of records by how many days back they go.
import type { FilterField } from './filter-form.ts';

export const daysField: FilterField = {
  name: 'days',
  label: 'Time',
  options: [
    ['', '30 days'],
    ['1', 'Today'],
    ['3', '3 days'],
    ['7', '7 days'],
    ['90', '90 days'],
    ['365', 'A year'],
  ],
};
