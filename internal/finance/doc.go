// Package finance reconciles one month of a ledger with the bank statement of the same month.
//
// Everything here is pure: the same two tables give the same report, byte by byte, in whatever order
// their rows come. Amounts are whole cents; no floating point number is involved.
package finance
