"""Has this library become dearer since a file of results was made? In multiples of the floor, never in times."""
