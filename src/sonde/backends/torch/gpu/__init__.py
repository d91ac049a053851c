"""What only a GPU needs: work of one shape launched as a whole."""
