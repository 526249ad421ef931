"""What one operation costs as the work grows: does the cost for each item stay flat?"""
